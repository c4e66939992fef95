import * as z from 'zod';

/** What the reactor (`opa/main.go`) is asked and answers, as JSON. */
interface ReactorLimits {
  /** For all evaluations of the request. */
  readonly deadline_ms: number;
  readonly heap_bytes: number;
  /** Of one result, and of what one evaluation prints. */
  readonly output_bytes: number;
}

type Sourced = { readonly source: string; readonly package: string; readonly rule: string };

export type ReactorRequest =
  | { readonly op: 'version' }
  | ({ readonly op: 'check'; readonly inputs: readonly unknown[]; readonly limits: ReactorLimits } & Sourced)
  | ({ readonly op: 'compile' } & Sourced)
  | ({ readonly op: 'prepare'; readonly handle: string } & Sourced)
  | ({ readonly op: 'test'; readonly limits: ReactorLimits } & Sourced)
  | {
      readonly op: 'evaluate';
      readonly handle: string;
      readonly inputs: readonly unknown[];
      readonly limits: ReactorLimits;
    }
  | { readonly op: 'release'; readonly handle: string };

const problems = z
  .array(
    z.object({
      code: z.string(),
      message: z.string(),
      row: z.number().default(0),
      col: z.number().default(0),
      details: z.array(z.string()).default([]),
      suggestion: z.string().exactOptional(),
    }),
  )
  .default([]);

const output = z.array(z.object({ row: z.number(), text: z.string() })).default([]);

export const reactorResponse = z.object({
  failure: z.string().optional(),
  version: z.string().default(''),
  errors: problems,
  warnings: problems,
  decided: z.array(z.object({ value: z.unknown(), row: z.number(), col: z.number() })).default([]),
  builtins: z.array(z.string()).default([]),
  /** Rules that are sets, and whether arrays are made of sets and objects in their order. */
  sets: z.array(z.string()).default([]),
  order_sensitive: z.boolean().default(false),
  wasm: z.string().default(''),
  /** The handle of an evaluation is not known to this thread. */
  unprepared: z.boolean().default(false),
  results: z.array(z.object({ result: z.unknown().optional(), errors: problems, output })).default([]),
  tests: z
    .array(
      z.object({
        name: z.string(),
        row: z.number(),
        outcome: z.enum(['pass', 'fail', 'error']),
        duration_ms: z.number(),
        errors: problems,
        output,
      }),
    )
    .default([]),
});
export type ReactorResponse = z.output<typeof reactorResponse>;
