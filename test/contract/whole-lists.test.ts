import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { operations } from '#contract/index.ts';
import { openApiDocument } from '#contract/openapi.ts';

const familyA = operations.filter(({ family, internal }) => family === 'A' && !internal);
const lists = familyA.filter(({ response }) => response.schema instanceof z.ZodArray);

describe('lists of Family A', () => {
  it('are there', () => expect(lists.length).toBeGreaterThan(5));

  it.each(lists.map((operation) => [operation.id, operation] as const))(
    '%s is complete, or by page',
    (_, { query }) => {
      const read = (given: object) => query?.safeParse(given);
      expect(read({})).toEqual({ success: true, data: {} });
      expect(read({ page: '2', per_page: '3' })).toMatchObject({ success: true, data: { page: 2 } });
      for (const wrong of [{ page: '0' }, { per_page: '0' }, { per_page: '101' }, { per_page: 'x' }])
        expect(read(wrong)?.success).toBe(false);
    },
  );
});

describe('identifiers of Family A', () => {
  const UPPER = '0199C0DE-5EED-7000-A000-0000000000AA';

  it.each(familyA.filter(({ params }) => params).map((operation) => [operation.id, operation] as const))(
    '%s takes them in any case, and is described as before',
    (_, { id, params, path }) => {
      const names = Object.keys(params?.shape ?? {});
      const read = params?.parse(Object.fromEntries(names.map((name) => [name, UPPER])));
      expect(Object.values(read ?? {})).toEqual(names.map(() => UPPER.toLowerCase()));
      const document = openApiDocument(familyA, 'http://x') as {
        paths: Record<string, Record<string, { operationId: string; parameters: object[] }>>;
      };
      const described = Object.values(document.paths[path] ?? {}).find(
        ({ operationId }) => operationId === id,
      );
      for (const name of names)
        expect(described?.parameters).toContainEqual(
          expect.objectContaining({
            name,
            schema: expect.objectContaining({ type: 'string', format: 'uuid' }),
          }),
        );
    },
  );
});
