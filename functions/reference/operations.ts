import { operations } from '#contract/index.ts';
import { openApiDocument } from '#contract/openapi.ts';
import type { reference } from '#contract/operations/reference.ts';
import type { Implementations } from '#http/chain.ts';

export interface ReferenceDependencies {
  readonly publicUrl: string;
}

/** Made once: it follows from the contract alone. */
let document: Record<string, unknown> | null = null;

export const referenceOperations: Implementations<typeof reference.operations, ReferenceDependencies> = {
  async getHealth() {
    return { status: 'ok', version: '1.0.0' };
  },

  async getOpenApiDocument(_, { publicUrl }) {
    document ??= openApiDocument(operations, publicUrl);
    return document;
  },
};
