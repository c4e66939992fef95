import { type TestContext, test } from 'vitest';

/** What an attack is aimed at: the rows of the table that a run prints. */
export type AttackClass =
  | 'accounts'
  | 'identity providers'
  | 'hostile repositories'
  | 'hostile reports'
  | 'oversized input'
  | 'addresses'
  | 'secrets in imports'
  | 'malformed input'
  | 'object store'
  | 'hosts and cursors';

/** Whether it was stopped before there was a test of it. What got through then is what a fix closed. */
export type AttackHistory = 'held' | 'got through';

export interface AttackRecord {
  readonly class: AttackClass;
  readonly history: AttackHistory;
}

declare module 'vitest' {
  interface TaskMeta {
    attack?: AttackRecord;
  }
}

/**
 * A test that attacks the service and passes where the attack is stopped. It is counted in the table of
 * attacks that ends a run (`attack-table.ts`).
 */
export function attack(
  of: AttackClass,
  history: AttackHistory,
  title: string,
  attempt: (context: TestContext) => Promise<void> | void,
  timeoutMs?: number,
): void {
  test(
    title,
    async (context) => {
      context.task.meta.attack = { class: of, history };
      await attempt(context);
    },
    timeoutMs,
  );
}
