import type { Template } from './template.ts';

/** What a resource answers to `Ref` and `Fn::GetAtt` here. */
export interface PhysicalResource {
  readonly ref: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export const ACCOUNT = '000000000000';
export const REGION = 'us-east-1';

const PSEUDO_PARAMETERS: Readonly<Record<string, string>> = {
  'AWS::AccountId': ACCOUNT,
  'AWS::Region': REGION,
  'AWS::Partition': 'aws',
  'AWS::URLSuffix': 'amazonaws.com',
  'AWS::StackName': 'local',
};

type Resolve = (value: unknown) => unknown;

/**
 * Resolves the intrinsic functions that our template uses. What the embedded cloud has no part for
 * (subnets, roles) answers with its logical id; an intrinsic that is not known is an error, since a
 * setting that holds half a template would only fail much later.
 */
export function createResolver(template: Template, physical: ReadonlyMap<string, PhysicalResource>): Resolve {
  const intrinsics: Readonly<Record<string, (argument: unknown) => unknown>> = {
    Ref: (name) => reference(String(name)),
    'Fn::GetAtt': (argument) => {
      const [id, ...attribute] = Array.isArray(argument) ? argument.map(String) : String(argument).split('.');
      return attributeOf(id ?? '', attribute.join('.'));
    },
    'Fn::Join': (argument) => {
      const [separator, parts] = listOf(resolve(argument));
      return listOf(parts).map(String).join(String(separator));
    },
    'Fn::Sub': (argument) => substitute(argument),
    'Fn::Select': (argument) => {
      const [index, list] = listOf(resolve(argument));
      return listOf(list)[Number(index)];
    },
    'Fn::Split': (argument) => {
      const [separator, text] = listOf(resolve(argument));
      return String(text).split(String(separator));
    },
    'Fn::GetAZs': () => [`${REGION}a`, `${REGION}b`],
  };

  function resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolve);
    if (value === null || typeof value !== 'object') return value;
    const entries = Object.entries(value);
    const [first] = entries;
    if (entries.length === 1 && first && (first[0] === 'Ref' || first[0].startsWith('Fn::'))) {
      const intrinsic = intrinsics[first[0]];
      if (!intrinsic) throw new Error(`The embedded cloud can't resolve ${first[0]}`);
      return intrinsic(first[1]);
    }
    return Object.fromEntries(entries.map(([name, inner]) => [name, resolve(inner)]));
  }

  function reference(name: string): string {
    const known = PSEUDO_PARAMETERS[name] ?? physical.get(name)?.ref;
    if (known !== undefined) return known;
    if (!(name in template.Resources))
      throw new Error(`The template refers to ${name}, which it does not have`);
    return name;
  }

  function attributeOf(id: string, attribute: string): string {
    if (!(id in template.Resources)) throw new Error(`The template refers to ${id}, which it does not have`);
    return physical.get(id)?.attributes[attribute] ?? `${id}.${attribute}`;
  }

  /** `${Name}`, `${Name.Attribute}`, and `${!Literal}`, which stays as `${Literal}`. */
  function substitute(argument: unknown): string {
    const [text, given] = Array.isArray(argument) ? argument : [argument, {}];
    const variables = resolve(given ?? {}) as Record<string, unknown>;
    return String(text).replace(/\$\{([^}]+)\}/g, (_, name: string) => {
      if (name.startsWith('!')) return `\${${name.slice(1)}}`;
      if (name in variables) return String(variables[name]);
      const dot = name.indexOf('.');
      return dot === -1 ? reference(name) : attributeOf(name.slice(0, dot), name.slice(dot + 1));
    });
  }

  return resolve;
}

function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Error('An intrinsic function of the template needs a list');
  return value;
}
