package valley;

import java.util.List;

/** One gauge. */
public class Gauge {
    private final double level;

    Gauge(double level) {
        this.level = level;
    }

    int rounded() {
        return (int) Math.ceil(level);
    }
}

class Worst {
    static double of(List<Double> all) {
        return all.get(0); // the last line of java
    }
}
