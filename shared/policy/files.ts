import { fileURLToPath } from 'node:url';

/** Where the engine finds what it loads at run time. */
export interface PolicyFiles {
  readonly reactorWorker: string;
  readonly bulkWorker: string;
  /** The reactor, compressed; its SHA-256 is in the file of that name with `.sha256`. */
  readonly reactor: string;
}

/**
 * In a bundle both workers and the reactor lie in one folder beside it (see `POLICY_ASSETS`); without a
 * folder they are the sources.
 */
export function policyFiles(assetsDir?: string): PolicyFiles {
  if (assetsDir !== undefined) {
    return {
      reactorWorker: `${assetsDir}/reactor-worker.mjs`,
      bulkWorker: `${assetsDir}/bulk-worker.mjs`,
      reactor: `${assetsDir}/opa.wasm.br`,
    };
  }
  const here = fileURLToPath(new URL('.', import.meta.url));
  return {
    reactorWorker: `${here}reactor-worker.ts`,
    bulkWorker: `${here}bulk-worker.ts`,
    reactor: `${here}opa/opa.wasm.br`,
  };
}

/** What the bundler puts into the folder: entry files to bundle, and files to copy, from the project's root. */
export const POLICY_ASSETS = {
  bulk: { entries: ['shared/policy/bulk-worker.ts'], copies: [] },
  reactor: {
    entries: ['shared/policy/reactor-worker.ts'],
    copies: [
      'shared/policy/opa/opa.wasm.br',
      'shared/policy/opa/opa.wasm.br.sha256',
      'shared/policy/opa/NOTICE',
    ],
  },
} as const;
