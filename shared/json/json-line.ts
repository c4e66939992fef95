/**
 * A value as one line of JSON. Readers of lines take U+2028 and U+2029 for ends of them (Node's does), and JSON
 * leaves both as they are: here they are escaped.
 */
export function jsonLine(value: unknown): string {
  const json = JSON.stringify(value).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
  return `${json}\n`;
}
