import * as z from 'zod';
import { RUNNERS, runnerPlaceKey, runnerTurnKey } from './keys.ts';
import { applied, NotApplied, type Table, type Write } from './table.ts';

const Place = z
  .object({
    place: z.number(),
    admission: z.string(),
    org_id: z.string(),
    scan_id: z.string(),
    asset_id: z.string(),
    run_id: z.string(),
  })
  .transform((item) => ({
    place: item.place,
    /** Of this one admission: a run that comes again has another one. */
    admission: item.admission,
    orgId: item.org_id,
    scanId: item.scan_id,
    assetId: item.asset_id,
    runId: item.run_id,
  }));
export type RunnerPlace = z.output<typeof Place>;

const Turn = z
  .object({ org_id: z.string(), turn: z.number() })
  .transform((item) => ({ orgId: item.org_id, turn: item.turn }));
/** An organization whose runs wait for a place; whose `turn` is lower has waited longer since its last one. */
export type RunnerTurn = z.output<typeof Turn>;

export type RunnerPlaceStore = ReturnType<typeof createRunnerPlaceStore>;

/**
 * Places of runners over all organizations, where a deployment bounds them: one item each, taken and given back
 * in the transactions that start and end its run, so that no place is counted twice or lost; and who waits for one.
 */
export function createRunnerPlaceStore(table: Table) {
  return {
    /** All of it: as many small items as runners may run, and one for each organization that waits. */
    async read(): Promise<{ held: RunnerPlace[]; turns: RunnerTurn[] }> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': RUNNERS },
        ConsistentRead: true,
      });
      return {
        held: items.filter((item) => 'place' in item).map((item) => Place.parse(item)),
        turns: items.filter((item) => 'turn' in item).map((item) => Turn.parse(item)),
      };
    },

    /** From now on it waits for its turn. */
    async ask(orgId: string, turn: number): Promise<void> {
      await table.transact([{ Put: { Item: { ...runnerTurnKey(orgId), org_id: orgId, turn } } }]);
    },

    /** It has nothing that waits for a place. */
    async withdraw(orgId: string): Promise<void> {
      await table.transact([{ Delete: { Key: runnerTurnKey(orgId) } }]);
    },

    /** Gives back a place whose run is gone; false where another run has it by now. */
    async free({ place, admission }: RunnerPlace): Promise<boolean> {
      return applied(
        table.transact([
          {
            Delete: {
              Key: runnerPlaceKey(place),
              ConditionExpression: 'admission = :admission',
              ExpressionAttributeValues: { ':admission': admission },
            },
            otherwise: () => new NotApplied(),
          },
        ]),
      );
    },
  };
}

/** Takes a place; goes with the write that lets the run run. */
export function takePlaceWrite(held: RunnerPlace, otherwise: () => Error): Write {
  return {
    Put: {
      Item: {
        ...runnerPlaceKey(held.place),
        place: held.place,
        admission: held.admission,
        org_id: held.orgId,
        scan_id: held.scanId,
        asset_id: held.assetId,
        run_id: held.runId,
      },
      ConditionExpression: 'attribute_not_exists(pk)',
    },
    otherwise,
  };
}

/** Gives it back; goes with the write after which the run runs no more. */
export function leavePlaceWrites(place: number | null | undefined): Write[] {
  return typeof place === 'number' ? [{ Delete: { Key: runnerPlaceKey(place) } }] : [];
}
