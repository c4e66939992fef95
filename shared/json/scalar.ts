const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Whether the text is a number, `true`, `false` or `null` of JSON's. */
export function isScalar(text: string): boolean {
  return text === 'true' || text === 'false' || text === 'null' || NUMBER.test(text);
}
