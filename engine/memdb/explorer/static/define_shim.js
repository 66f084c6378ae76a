// The d3 of the package `gravis` wraps itself for an AMD loader: this is as much of one as it asks for.
globalThis.require = { defined: () => false };
globalThis.define = (name, needs, make) => {
  const made = {};
  make(made);
  globalThis.d3 = made;
};
