import fc from 'fast-check';
import { type IdKind, toOpaque } from '#domain/ids.ts';

/** A schema as the OpenAPI document has it. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly properties?: Record<string, JsonSchema>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly example?: unknown;
  readonly description?: string;
}

export interface DescribedOperation {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: 'path' | 'query';
    readonly schema: JsonSchema;
  }[];
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: JsonSchema } };
  };
  readonly responses: Record<string, unknown>;
}

/** UUIDs of records that exist, by the name of the parameter that takes them. */
export type Known = Readonly<Record<string, readonly string[]>>;

export interface GeneratedRequest {
  readonly path: string;
  readonly text: string | undefined;
  readonly contentType: string;
  readonly asUser: boolean;
}

/** Which kind of Family B's identifiers a parameter or field takes. */
const KIND_OF_NAME: Readonly<Record<string, IdKind>> = {
  project_id: 'project',
  sub_project_id: 'project',
  asset_id: 'asset',
  asset_ids: 'asset',
  scan_id: 'scan',
  finding_id: 'finding',
  finding_ids: 'finding',
  policy_id: 'policy',
  team_id: 'team',
  user_id: 'user',
};

const ODD_STRINGS = [
  '',
  ' ',
  '\u0000',
  '\ud83d\udca5',
  '\ufdfa',
  '\u202etxt',
  '__proto__',
  'constructor',
  'null',
  'NaN',
  '-0',
  '1e400',
  '9007199254740993',
  '٣',
  '%00',
  '%zz',
  "'; DROP TABLE findings; --",
  '{{7*7}}',
  '<script>',
  '#',
  'ORG#',
  'x'.repeat(3000),
  '2026-02-30T25:61:00Z',
  '00000000-0000-0000-0000-000000000000',
  'proj_00000000000000000000000000000000',
  'proj_',
  'javascript:alert(1)',
  'http://[::1]:99999/',
  'file:///etc/passwd',
];
const ODD_VALUES: readonly unknown[] = [
  ...ODD_STRINGS,
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e21,
  1e300,
  -1e-300,
  Number.MAX_SAFE_INTEGER + 2,
  [],
  {},
  [[]],
  [null],
  { a: { b: [{}] } },
  JSON.parse('{"__proto__":{"admin":true}}'),
  Array.from({ length: 200 }, (_, index) => index),
];
const ODD_BODIES = [
  '',
  '{',
  'null',
  '[]',
  '"text"',
  '1',
  '{"a":1e400}',
  '{"a":1}{}',
  '\u0000',
  '[[[[',
  '{"a":"\\ud800"}',
];

const anyUuid = fc.uuid({ version: [4, 7] });
const oddString = fc.oneof(fc.constantFrom(...ODD_STRINGS), fc.string({ unit: 'grapheme', maxLength: 40 }));
const oddValue = fc.oneof(fc.constantFrom(...ODD_VALUES), fc.jsonValue());

/** Requests of one operation: half of them as described, the others wrong in one way or several. */
export function requestsOf(
  operation: DescribedOperation,
  path: string,
  family: 'A' | 'B',
  known: Known,
  components: Record<string, JsonSchema>,
): fc.Arbitrary<GeneratedRequest> {
  const make = new Generator(family, known, components);
  const schema = operation.requestBody?.content['application/json'].schema;
  const body = schema
    ? make.body(schema)
    : fc.option(fc.constantFrom('{}', '{"a":1}', '{'), { nil: undefined });
  return fc.record({
    path: fc
      .tuple(make.path(path, operation), make.query(operation))
      .map(([resolved, query]) => `${resolved}${query}`),
    text: body,
    contentType: fc.oneof(
      { weight: 20, arbitrary: fc.constant('application/json') },
      {
        weight: 1,
        arbitrary: fc.constantFrom('text/plain', 'application/xml', 'application/json; charset=x', ';'),
      },
    ),
    asUser: fc.boolean(),
  });
}

class Generator {
  readonly #family: 'A' | 'B';
  readonly #known: Known;
  readonly #components: Record<string, JsonSchema>;

  constructor(family: 'A' | 'B', known: Known, components: Record<string, JsonSchema>) {
    this.#family = family;
    this.#known = known;
    this.#components = components;
  }

  path(template: string, { parameters }: DescribedOperation): fc.Arbitrary<string> {
    const inPath = parameters.filter((parameter) => parameter.in === 'path');
    const values = Object.fromEntries(
      inPath.map(({ name, schema }) => [
        name,
        fc.oneof(
          { weight: 6, arbitrary: this.value(schema, name) },
          { weight: 1, arbitrary: oddString.filter(isSegment) },
        ),
      ]),
    );
    return fc
      .record(values)
      .map((chosen) =>
        template.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
          encodeURIComponent(String((chosen as Record<string, unknown>)[name])),
        ),
      );
  }

  query({ parameters }: DescribedOperation): fc.Arbitrary<string> {
    const pairs = parameters
      .filter((parameter) => parameter.in === 'query')
      .map(({ name, schema }) =>
        fc
          .option(
            fc.oneof(
              { weight: 4, arbitrary: this.value(schema, name).map(String) },
              { weight: 1, arbitrary: oddString },
            ),
            { nil: undefined, freq: 2 },
          )
          .map((value) => (value === undefined ? [] : [[name, value] as const])),
      );
    const surplus = fc.oneof(
      { weight: 8, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.tuple(oddString, oddString).map((pair) => [pair]) },
    );
    return fc.tuple(...pairs, surplus).map((all) => {
      const text = new URLSearchParams(
        all.flat().map(([name = '', value = '']): [string, string] => [name, value]),
      ).toString();
      return text === '' ? '' : `?${text}`;
    });
  }

  body(schema: JsonSchema): fc.Arbitrary<string | undefined> {
    const valid = this.value(schema, '');
    const mutated = fc
      .tuple(valid, fc.constantFrom('drop', 'replace', 'add', 'whole'), fc.nat(), oddValue, oddString)
      .map(([value, how, at, odd, name]) => mutate(value, how, at, odd, name));
    return fc.oneof(
      { weight: 5, arbitrary: valid.map((value) => JSON.stringify(value)) },
      { weight: 5, arbitrary: mutated.map((value) => JSON.stringify(value)) },
      { weight: 1, arbitrary: fc.constantFrom(...ODD_BODIES) },
      { weight: 1, arbitrary: fc.constant(undefined) },
    );
  }

  /** A value that the schema describes. */
  value(schema: JsonSchema, name: string): fc.Arbitrary<unknown> {
    if (schema.$ref) {
      const target = this.#components[schema.$ref.slice('#/components/schemas/'.length)];
      if (!target) throw new Error(`The document lacks ${schema.$ref}`);
      return this.value(target, name);
    }
    if ('const' in schema) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    const options = schema.anyOf ?? schema.oneOf;
    if (options) return fc.oneof(...options.map((option) => this.value(option, name)));
    if (Array.isArray(schema.type))
      return fc.oneof(...schema.type.map((type) => this.value({ ...schema, type }, name)));
    switch (schema.type) {
      case 'string':
        return this.#string(schema, name);
      case 'integer':
        return fc.integer({
          min: schema.minimum ?? -1000,
          max: Math.min(schema.maximum ?? 1000, 2 ** 31 - 1),
        });
      case 'number':
        return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
      case 'boolean':
        return fc.boolean();
      case 'null':
        return fc.constant(null);
      case 'array':
        return fc.array(this.value(schema.items ?? {}, name), {
          minLength: schema.minItems ?? 0,
          maxLength: Math.min(schema.maxItems ?? 3, (schema.minItems ?? 0) + 3),
        });
      case 'object':
        return this.#object(schema);
      default:
        return fc.jsonValue();
    }
  }

  #object(schema: JsonSchema): fc.Arbitrary<unknown> {
    const properties = Object.entries(schema.properties ?? {});
    const extra = schema.additionalProperties;
    if (properties.length === 0 && typeof extra === 'object')
      return fc.dictionary(fc.string({ maxLength: 10 }), this.value(extra, ''), { maxKeys: 3 });
    return fc.record(
      Object.fromEntries(properties.map(([key, property]) => [key, this.value(property, key)])),
      { requiredKeys: [...(schema.required ?? [])] },
    );
  }

  #string(schema: JsonSchema, name: string): fc.Arbitrary<string> {
    const kind = KIND_OF_NAME[name];
    if (name in this.#known || kind) {
      const own = this.#known[name] ?? [];
      const ids = fc.oneof(
        { weight: 8, arbitrary: own.length > 0 ? fc.constantFrom(...own) : anyUuid },
        { weight: 1, arbitrary: fc.constant(anyKnown(this.#known)) },
        { weight: 1, arbitrary: anyUuid },
      );
      const isOpaque = this.#family === 'B' && kind !== undefined && schema.format !== 'uuid';
      return isOpaque ? ids.map((id) => toOpaque(kind, id)) : ids;
    }
    if (schema.format === 'uuid') return anyUuid;
    if (schema.format === 'email') return fc.uuid().map((id) => `${id}@example.com`);
    if (schema.format === 'date-time')
      return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
    if (schema.format === 'uri') return fc.webUrl();
    const words = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: schema.minLength ?? 0, maxLength: lengthOf(schema) }),
      fc.uuid().map((id) => `name ${id}`.slice(0, schema.maxLength ?? 100)),
      ...(typeof schema.example === 'string' ? [fc.constant(schema.example)] : []),
      ...(schema.description?.startsWith('Comma-separated: ')
        ? [
            fc
              .subarray(schema.description.slice(17).split(', '), { minLength: 1 })
              .map((chosen) => chosen.join(',')),
          ]
        : []),
    );
    return words;
  }
}

function lengthOf({ minLength = 0, maxLength = 60 }: JsonSchema): number {
  return Math.max(minLength, Math.min(maxLength, 60));
}

function anyKnown(known: Known): string {
  return Object.values(known).flat()[0] ?? '00000000-0000-4000-8000-000000000000';
}

/** Whether a text stays one segment of a path: what has a slash, or is a dot, is another path. */
function isSegment(text: string): boolean {
  return text !== '' && !/[/\\]|^\.{1,2}$/.test(text) && text.isWellFormed() && text.length < 500;
}

/** One thing about a value changed: a field dropped, replaced or added, or all of it another. */
function mutate(value: unknown, how: string, at: number, odd: unknown, name: string): unknown {
  if (how === 'whole' || typeof value !== 'object' || value === null || Array.isArray(value)) return odd;
  const entries = Object.entries(value);
  if (how === 'add' || entries.length === 0) return Object.fromEntries([...entries, [name, odd]]);
  const [key, held] = entries[at % entries.length] ?? ['', null];
  if (how === 'drop') return Object.fromEntries(entries.filter(([other]) => other !== key));
  // Within what it holds, too: wrong types hide deep in a body.
  const isDeep = typeof held === 'object' && held !== null && !Array.isArray(held) && at % 2 === 0;
  return { ...value, [key]: isDeep ? mutate(held, 'replace', Math.floor(at / 2), odd, name) : odd };
}
