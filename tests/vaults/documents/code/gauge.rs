use std::fmt;

/// One gauge.
#[derive(Debug)]
pub struct Gauge {
    level: f64,
}

impl fmt::Display for Gauge {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}", self.level)
    }
}

pub fn worst(all: &[Gauge]) -> f64 {
    all[0].level // the last line of rust
}
