import { DEFERRED, goFormat } from './go-format.ts';

/**
 * Builtins that compiled policies call outside of WebAssembly, and that answer here exactly as OPA does. A policy
 * that needs any other is evaluated by the reactor. The names of `sprintf` and the like are ours (`svc.…`), given
 * when a policy is compiled: the SDK has functions of its own under OPA's names (`sprintf`, `yaml.…`,
 * `regex.split`), which can't be replaced and don't answer as OPA does.
 *
 * What is not of the right type is undefined, as a builtin's error is.
 */
export function hostedBuiltins(defer: () => void): Record<string, (...values: unknown[]) => unknown> {
  return {
    'svc.sprintf': (format, values) => {
      if (typeof format !== 'string' || !Array.isArray(values)) return undefined;
      const text = goFormat(format, values);
      if (text !== DEFERRED) return text;
      defer();
      return undefined;
    },
    'strings.any_prefix_match': (search, base) =>
      anyMatch(search, base, (text, part) => text.startsWith(part)),
    'strings.any_suffix_match': (search, base) => anyMatch(search, base, (text, part) => text.endsWith(part)),
    'strings.count': (search, part) =>
      typeof search === 'string' && typeof part === 'string' ? occurrences(search, part) : undefined,
  };
}

export const HOSTED_BUILTINS: ReadonlySet<string> = new Set(Object.keys(hostedBuiltins(() => {})));

function anyMatch(search: unknown, base: unknown, matches: (text: string, part: string) => boolean) {
  const texts = strings(search);
  const parts = strings(base);
  return texts && parts ? texts.some((text) => parts.some((part) => matches(text, part))) : undefined;
}

/** A string, or an array or set of strings. */
function strings(value: unknown): string[] | null {
  const all: unknown[] = Array.isArray(value) ? value : [value];
  return all.every((each) => typeof each === 'string') ? all : null;
}

/** Without overlap; the empty string is found around every character. */
function occurrences(text: string, part: string): number {
  return part === '' ? Array.from(text).length + 1 : text.split(part).length - 1;
}
