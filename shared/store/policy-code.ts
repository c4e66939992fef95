import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as z from 'zod';
import { ServiceError } from '#domain/errors.ts';
import type { CompiledPolicy } from '#shared/policy/check.ts';
import { POLICY_KINDS, type PolicyKind } from '#shared/policy/kinds.ts';
import { policyCodeKey, policySourceKey } from './keys.ts';
import type { Table } from './table.ts';

/** An item ends at 400 KB. The largest source that is taken compiles to a quarter of it. */
const MAX_BYTES = 380 * 1024;
/** Compiled policies that a process keeps at hand: about 200 KB each. */
const KEPT = 64;

const bytes = z.instanceof(Uint8Array);
const SourceItem = z.object({ rego: bytes });
const CodeItem = z.object({
  kind: z.enum(POLICY_KINDS),
  rego: bytes,
  wasm: bytes,
  sets: z.array(z.string()),
  evaluator: z.enum(['wasm', 'reactor']),
});

export type PolicyCodeStore = ReturnType<typeof createPolicyCodeStore>;

/** What names a source: the same one of the same kind is kept once, however many versions have it. */
export function codeOf(kind: PolicyKind, rego: string): string {
  return createHash('sha256').update(`${kind}\0${rego}`).digest('hex');
}

/**
 * Sources and what they compile to, compressed; named by what they hold, so that they never change, and whoever
 * has read one need not read it again. The source is an item of its own: lists show it, and read no WebAssembly.
 */
export function createPolicyCodeStore(table: Table) {
  const kept = new Map<string, CompiledPolicy>();

  function remember(name: string, policy: CompiledPolicy): void {
    kept.delete(name);
    kept.set(name, policy);
    const [oldest] = kept.keys();
    if (oldest !== undefined && kept.size > KEPT) kept.delete(oldest);
  }

  return {
    /**
     * Keeps a compiled policy before the version that names it; one that no version names in the end does no harm.
     * @throws ServiceError rego_compile_error where it is too large
     */
    async keep(orgId: string, policy: CompiledPolicy): Promise<string> {
      const { kind, sets, evaluator } = policy;
      const code = codeOf(kind, policy.rego);
      const rego = gzipSync(policy.rego);
      const wasm = gzipSync(policy.wasm);
      if (rego.length + wasm.length > MAX_BYTES)
        throw new ServiceError(
          'rego_compile_error',
          'The compiled policy is too large: split it into several',
          {
            details: [{ field: 'rego', message: `compiles to more than ${MAX_BYTES / 1024} KB, compressed` }],
          },
        );
      await table.transact([
        { Put: { Item: { ...policySourceKey(orgId, code), rego } } },
        { Put: { Item: { ...policyCodeKey(orgId, code), kind, rego, wasm, sets: [...sets], evaluator } } },
      ]);
      return code;
    },

    /** Sources by their names; one request for each 100. */
    async readSources(orgId: string, codes: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const items = await table.batchGet(codes.map((code) => policySourceKey(orgId, code)));
      return new Map(
        codes.map((code, index) => [code, gunzipSync(SourceItem.parse(items[index]).rego).toString()]),
      );
    },

    /** Compiled policies by their names; one request for each 100 that this process has not read before. */
    async readCompiled(
      orgId: string,
      codes: readonly string[],
    ): Promise<ReadonlyMap<string, CompiledPolicy>> {
      const found = new Map<string, CompiledPolicy>();
      const unread = new Set<string>();
      for (const code of codes) {
        const policy = kept.get(`${orgId}/${code}`);
        if (policy) found.set(code, policy);
        else unread.add(code);
      }
      const wanted = [...unread];
      const items = await table.batchGet(wanted.map((code) => policyCodeKey(orgId, code)));
      for (const [index, code] of wanted.entries()) {
        const { kind, rego, wasm, sets, evaluator } = CodeItem.parse(items[index]);
        const policy: CompiledPolicy = {
          kind,
          rego: gunzipSync(rego).toString(),
          wasm: gunzipSync(wasm),
          sets,
          evaluator,
        };
        found.set(code, policy);
        remember(`${orgId}/${code}`, policy);
      }
      return found;
    },
  };
}
