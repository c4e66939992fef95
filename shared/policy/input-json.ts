/** An input as JSON, undefined as null; null where it is none (nested too deeply, or in itself). */
export function inputJson(input: unknown): string | null {
  try {
    return JSON.stringify(input) ?? 'null';
  } catch {
    return null;
  }
}

export const NO_JSON = 'The input can’t be written as JSON';
