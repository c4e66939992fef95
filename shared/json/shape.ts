import type * as z from 'zod';
import type { Shape } from './filter.ts';

/** Everything, however deep. */
export const ALL: Shape = (() => {
  const all: { elements?: Shape; others?: Shape } = {};
  all.elements = all;
  all.others = all;
  return all;
})();

const SCALAR: Shape = {};

interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
}

/**
 * What a schema reads, so that a field that a parser comes to read is kept without a second list of names.
 * @param lists how many elements are kept of each list
 */
export function shapeOf(schema: z.core.$ZodType, lists: Pick<Shape, 'most' | 'strict'>): Shape {
  const { type, shape, element, valueType, innerType, in: input } = schema._zod.def as Definition;
  if (shape) return membersOf(Object.entries(shape).map(([name, inner]) => [name, shapeOf(inner, lists)]));
  if (element) return { elements: shapeOf(element, lists), ...lists };
  if (valueType) return { others: shapeOf(valueType, lists) };
  const inner = innerType ?? input;
  if (inner) return shapeOf(inner, lists);
  return type === 'unknown' || type === 'any' || type === 'union' ? ALL : SCALAR;
}

export function membersOf(members: Iterable<readonly [string, Shape]>): Shape {
  return { members: new Map(members) };
}

/** Members by name, all that is in them included. */
export function fieldsOf(...names: readonly string[]): [string, Shape][] {
  return names.map((name) => [name, ALL]);
}
