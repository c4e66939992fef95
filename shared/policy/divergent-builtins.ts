/**
 * Builtins that OPA's WebAssembly has, and that do not answer there as they do in OPA itself: found by
 * `test/policy/conformance.test.ts`, and kept to by it.
 */
const DIVERGENT: ReadonlySet<string> = new Set([
  // Compute in decimals where OPA does in binary (of sums and the like the reactor tells whether it matters).
  'product',
  'div',
  // Between -1 and 0.
  'ceil',
  'floor',
  // The empty string: found at 0 where OPA has an error, replaced forever where OPA ends.
  'indexof',
  'replace',
  'strings.replace_n',
  // Of an empty array: undefined where OPA gives an empty object.
  'object.union_n',
  // Order of keys and what is escaped; text after the value is ignored where OPA has an error.
  'json.marshal',
  'json.unmarshal',
  // Takes what lacks its padding.
  'base64.decode',
  'base64.is_valid',
]);

export function divergesInWasm(builtin: string): boolean {
  return DIVERGENT.has(builtin);
}
