import type { Difference } from '#test/harness/awkward/compare.ts';

/** What the emulated gateway does otherwise than AWS's is documented or observed to do, and what hides there. */
export interface NamedDifference {
  readonly because: string;
  /** By name, the fields that differ. */
  readonly at: Readonly<Record<string, readonly string[]>>;
}

const PATH = ['rawPath', 'path'] as const;

export const EVENT_DIFFERENCES: readonly NamedDifference[] = [
  {
    because: 'the path is decoded once, and an escaped percent sign stays as it is',
    at: {
      'escaped question mark': PATH,
      'escaped percent sign': ['answer'],
      'slash escaped twice': PATH,
      'question mark escaped twice': PATH,
      'percent sign escaped twice': PATH,
    },
  },
  {
    because: 'a slash after the first segment is lost',
    at: { 'slash at the end': ['routeKey', 'contextRouteKey', ...PATH] },
  },
  {
    because: 'a path begins with one slash, whatever was sent',
    at: {
      'two slashes first': ['rawPath'],
      'whole address as target': ['rawPath'],
      'target without a slash': ['rawPath'],
      CONNECT: ['rawPath'],
    },
  },
  {
    because: 'methods are written in upper case',
    at: { 'method in lower case': ['method'] },
  },
  {
    because: 'repeated headers are joined by a comma and a space',
    at: { 'repeated header': ['headers'] },
  },
  {
    because: 'cookies stay a header',
    at: { cookies: ['cookies', 'headers'], 'two headers of cookies': ['headers'] },
  },
  {
    because: 'text in another charset than UTF-8 is taken for UTF-8',
    at: { 'body of text/plain; charset=iso-8859-1': ['body', 'isBase64Encoded'] },
  },
  {
    because: 'the limits of the gateway and of Lambda do not hold',
    at: {
      'headers of more than 10,240 bytes': ['answer'],
      'request line of more than 10,240 bytes': ['answer'],
      'more than Lambda takes': ['answer'],
      'text that is more than Lambda takes once it is JSON': ['answer'],
      'more than the gateway takes': ['answer'],
      'more than the gateway takes, in chunks': ['answer'],
    },
  },
  {
    because: 'every OPTIONS is taken for a question about CORS',
    at: { OPTIONS: ['answer'], 'OPTIONS of a browser': ['answer'] },
  },
  {
    because: 'its server refuses what is no HTTP without a body, and a way of transfer with 501',
    at: {
      'letters without an escape': ['form'],
      'bytes that are no ASCII in a query': ['form'],
      'header without a colon': ['form'],
      'space before the colon': ['form'],
      'headers of a hundred kilobytes': ['form'],
      'two lengths of one body': ['form'],
      'a length that is no number': ['form'],
      'chunks of no size': ['form'],
      'an unknown way of transfer': ['answer'],
    },
  },
];

const OF_THE_GATEWAY = ['type', 'code', 'missing'] as const;

export const ANSWER_DIFFERENCES: readonly NamedDifference[] = [
  {
    because: 'the path is decoded once; AWS cuts it at an escaped question mark',
    at: { 'letter escaped twice': ['status', 'code'], 'escaped question mark': ['status', 'code'] },
  },
  {
    because: 'a path begins with one slash, whatever was sent',
    at: { 'two slashes first': ['status', 'code'] },
  },
  {
    because: 'every OPTIONS is taken for a question about CORS',
    at: { OPTIONS: ['status', 'allow', ...OF_THE_GATEWAY] },
  },
  {
    because: 'a malformed escape is no reason to refuse',
    at: { 'health: escape of no digits': ['status', ...OF_THE_GATEWAY] },
  },
  {
    because: 'the limits of the gateway and of Lambda do not hold: our own chain refuses the body',
    at: {
      'login: more than Lambda takes': OF_THE_GATEWAY,
      'health: headers of more than 10,240 bytes': ['status', 'type', 'missing'],
    },
  },
];

/** Says which differences are named, and which names stand for nothing any more. */
export class DifferenceList {
  readonly #named: readonly NamedDifference[];
  readonly #seen: (Difference & { readonly because: string })[] = [];

  constructor(named: readonly NamedDifference[]) {
    this.#named = named;
  }

  /** @returns those that nobody named */
  unnamed(differences: readonly Difference[]): Difference[] {
    return differences.filter((difference) => {
      const found = this.#named.find(({ at }) => at[difference.request]?.includes(difference.field));
      if (found) this.#seen.push({ ...difference, because: found.because });
      return !found;
    });
  }

  /** Names of differences that there were none of. */
  gone(): string[] {
    const all = this.#named.flatMap(({ at }) =>
      Object.entries(at).flatMap(([request, fields]) => fields.map((field) => `${request}: ${field}`)),
    );
    const seen = new Set(this.#seen.map(({ request, field }) => `${request}: ${field}`));
    return all.filter((name) => !seen.has(name));
  }

  /** A line a difference, with the reason before those that it explains. */
  table(): string {
    return this.#named
      .flatMap(({ because }) => [
        `  ${because}`,
        ...this.#seen
          .filter((one) => one.because === because)
          .map(
            ({ request, field, expected, got }) =>
              `    ${request.padEnd(42)}  ${field.padEnd(16)}  ${short(expected)} -> ${short(got)}`,
          ),
      ])
      .join('\n');
  }
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > 44 ? `${text.slice(0, 43)}…` : text;
}
