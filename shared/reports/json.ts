/**
 * A report's bytes as JSON. A byte order mark before it, as tools on Windows write one, is none of it.
 * @throws SyntaxError
 */
export function readJson(bytes: Uint8Array): unknown {
  const value: unknown = JSON.parse(new TextDecoder('utf-8').decode(bytes));
  return value;
}
