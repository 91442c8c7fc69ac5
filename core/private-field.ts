/** The private fields of a class come on whatever object the constructor of its base returns. */
class Given {
  constructor(given: object) {
    return given;
  }
}

/** A field that objects of any kind can be given, once each: no copy has it, nobody else sees it, and it goes with its object. */
export function privateField<Of extends object, Value>() {
  class Holder extends Given {
    readonly #value: Value;
    constructor(of: Of, value: Value) {
      super(of);
      this.#value = value;
    }
    static of = (of: Of): Value | undefined => (#value in of ? of.#value : undefined);
  }
  return { of: Holder.of, put: (of: Of, value: Value): void => void new Holder(of, value) };
}
