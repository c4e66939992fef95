import { readFileSync } from 'node:fs';
import * as z from 'zod';

const SpecifiedOperation = z.object({
  family: z.enum(['A', 'B']),
  method: z.enum(['GET', 'POST', 'PATCH', 'DELETE']),
  path: z.custom<`/api/${string}`>((value) => typeof value === 'string' && value.startsWith('/api/')),
  scope: z.string(),
});

/** The specification's endpoint tables as data: 115 operations. */
export const specifiedOperations = z
  .array(SpecifiedOperation)
  .parse(JSON.parse(readFileSync(new URL('../fixtures/operations.json', import.meta.url), 'utf8')));
