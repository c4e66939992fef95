import { describe, expectTypeOf, it } from 'vitest';
import * as z from 'zod';
import { declareGroup, type OperationDeclaration } from '#contract/operation.ts';
import type { Caller, OrgCaller } from '#http/caller.ts';
import type { Implementations, OperationInput } from '#http/chain.ts';

const group = declareGroup('example', {
  getThing: {
    family: 'B',
    method: 'GET',
    path: '/api/things/{thing_id}',
    summary: 'One thing',
    permission: 'projects:read',
    params: z.object({ thing_id: z.string() }),
    response: { status: 200, schema: z.object({ name: z.string() }) },
    errors: [],
  },
  whoAmI: {
    family: 'B',
    method: 'GET',
    path: '/api/who',
    summary: 'Me',
    permission: 'signed-in',
    response: { status: 200, schema: z.object({ name: z.string() }) },
    errors: [],
  },
});
type Example = Implementations<typeof group.operations, object>;

describe('the contract in types', () => {
  it('refuses an operation without an implementation', () => {
    // @ts-expect-error whoAmI is missing
    const incomplete: Example = { getThing: async () => ({ name: 'x' }) };
    expectTypeOf(incomplete).not.toBeAny();
  });

  it('refuses an answer of another shape', () => {
    const wrong: Example = {
      // @ts-expect-error the response has a name, not a title
      getThing: async () => ({ title: 'x' }),
      whoAmI: async () => ({ name: 'x' }),
    };
    expectTypeOf(wrong).not.toBeAny();
  });

  it('refuses a declaration without a permission or a response', () => {
    const common = { family: 'B', method: 'GET', path: '/api/x', summary: 'x', errors: [] } as const;
    // @ts-expect-error no permission
    const open: OperationDeclaration = { ...common, response: { status: 200, schema: z.object({}) } };
    // @ts-expect-error no response
    const silent: OperationDeclaration = { ...common, permission: 'public' };
    expectTypeOf([open, silent]).not.toBeAny();
  });

  it('gives an operation valid input, and the caller that its permission promises', () => {
    type Thing = OperationInput<(typeof group.operations)['getThing']>;
    expectTypeOf<Thing['params']>().toEqualTypeOf<{ thing_id: string }>();
    expectTypeOf<Thing['body']>().toEqualTypeOf<undefined>();
    expectTypeOf<Thing['caller']>().toEqualTypeOf<OrgCaller>();
    expectTypeOf<OperationInput<(typeof group.operations)['whoAmI']>['caller']>().toEqualTypeOf<Caller>();
  });
});
