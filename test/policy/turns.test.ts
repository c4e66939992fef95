import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { policyFiles } from '#shared/policy/files.ts';
import { createReactor } from '#shared/policy/reactor.ts';
import { Turn, Turns } from '#shared/threads/turns.ts';

/** A piece of work that lasts until it is told to end. */
function work<T>(result: T) {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { run: () => promise.then(() => result), end: resolve };
}

class Desk {
  closed = false;
  readonly start = () => Promise.resolve();
  readonly close = async () => {
    this.closed = true;
  };
}

const opened: Turns<Desk>[] = [];
function turnsOf(most: number, create = () => new Desk()) {
  const turns = new Turns(create, most);
  opened.push(turns);
  return turns;
}
afterEach(() => Promise.all(opened.splice(0).map((turns) => turns.close())));

describe('turns', () => {
  test('of one owner come one after the other, in order', async () => {
    const turns = turnsOf(3);
    const [first, second] = [work(1), work(2)];
    const ended: number[] = [];
    const all = [first, second].map(({ run }) =>
      turns.take(new Turn('a'), run).then((result) => ended.push(result)),
    );
    second.end();
    await pause(300);
    expect(ended).toEqual([]);
    first.end();
    await Promise.all(all);
    expect(ended).toEqual([1, 2]);
  });

  test('of owners alternate: many of one keep nobody else waiting for more than one', async () => {
    const turns = turnsOf(1);
    const order: string[] = [];
    const take = (owner: string) => turns.take(new Turn(owner), async () => order.push(owner));
    await Promise.all(['a', 'a', 'a', 'b', 'b', 'c'].map(take));
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
  });

  test('others get company where one takes long, up to so many', async () => {
    let made = 0;
    const turns = turnsOf(2, () => {
      made += 1;
      return new Desk();
    });
    const long = [work('a'), work('b')];
    const running = ['a', 'b'].map((owner, at) => turns.take(new Turn(owner), long[at]?.run ?? work('').run));
    const third = turns.take(new Turn('c'), async () => 'c');
    await pause(600);
    expect(made).toBe(2);
    long[1]?.end();
    expect(await third).toBe('c');
    long[0]?.end();
    expect(await Promise.all(running)).toEqual(['a', 'b']);
  });

  test('of owners whose work took long come last, and leave a resource to others', async () => {
    const turns = turnsOf(3);
    // Each of them has had a turn that took long.
    const slow = ['a', 'b', 'c', 'd'];
    await Promise.all(slow.map((owner) => turns.take(new Turn(owner), () => pause(1100))));
    const long = slow.map(() => work('long'));
    const running = slow.map((owner, at) => turns.take(new Turn(owner), long[at]?.run ?? work('').run));
    await pause(600);
    expect(await turns.take(new Turn('new'), async () => 'served')).toBe('served');
    for (const { end } of long) end();
    await Promise.all(running);
  });

  test('one owner alone gets no second', async () => {
    let made = 0;
    const turns = turnsOf(3, () => {
      made += 1;
      return new Desk();
    });
    const long = work(1);
    const all = [turns.take(new Turn('a'), long.run), turns.take(new Turn('a'), async () => 2)];
    await pause(400);
    long.end();
    await Promise.all(all);
    expect(made).toBe(1);
  });

  test('that come too late are refused, and never begin', async () => {
    const turns = turnsOf(1);
    const long = work(1);
    const running = turns.take(new Turn('a'), long.run);
    let began = false;
    const late = turns.take(new Turn('a', performance.now() + 50), async () => {
      began = true;
    });
    await expect(late).rejects.toMatchObject({ code: 'service_unavailable', retryAfter: 30 });
    long.end();
    await running;
    await turns.take(new Turn('a'), async () => null);
    expect(began).toBe(false);
  });

  test('of one owner that are a flood are refused at once; others still get theirs', async () => {
    const turns = turnsOf(1);
    const long = work(1);
    const running = turns.take(new Turn('a'), long.run);
    const flood = Array.from({ length: 80 }, () => turns.take(new Turn('a'), async () => 'ran'));
    const other = turns.take(new Turn('b'), async () => 'b');
    long.end();
    const settled = await Promise.allSettled([running, ...flood]);
    expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(16);
    expect(await other).toBe('b');
  });

  test('tell how long they waited', async () => {
    const turns = turnsOf(1);
    const turn = new Turn('b');
    await Promise.all([turns.take(new Turn('a'), () => pause(50)), turns.take(turn, async () => null)]);
    expect(turn.waitedMs).toBeGreaterThan(0);
  });

  test('a resource that does not start fails its turn alone', async () => {
    let starts = 0;
    const turns = new Turns(
      () => ({
        start: () => (starts++ === 0 ? Promise.reject(new Error('no')) : Promise.resolve()),
        close: async () => {},
      }),
      1,
    );
    await expect(turns.take(new Turn('a'), async () => 1)).rejects.toThrow('no');
    expect(await turns.take(new Turn('a'), async () => 2)).toBe(2);
    await turns.close();
  });

  test('closing refuses who waits and closes every resource', async () => {
    const desk = new Desk();
    const turns = turnsOf(1, () => desk);
    const long = work(1);
    const running = turns.take(new Turn('a'), long.run);
    const waiting = turns.take(new Turn('a', performance.now() + 60_000), async () => 2);
    const refused = expect(waiting).rejects.toThrow('closed');
    await turns.close();
    await refused;
    expect(desk.closed).toBe(true);
    long.end();
    expect(await running).toBe(1);
    await expect(turns.take(new Turn('a'), async () => 3)).rejects.toThrow('closed');
  });
});

describe('the policy engine', () => {
  const triage = (rules: string) =>
    ({ kind: 'triage', rego: `package svc.triage\nimport rego.v1\n${rules}\n` }) as const;
  /** A hundred million steps. */
  const RUNAWAY = triage(
    'n := count([1 | some i in numbers.range(1, 1000); some j in numbers.range(1, 100000); i * j == -1])',
  );

  test('serves an organization while another’s policies run away', async () => {
    const reactor = createReactor(policyFiles());
    const ended: string[] = [];
    const ran = Array.from({ length: 6 }, () =>
      reactor
        .onBehalfOf(new Turn('a'))
        .evaluate(RUNAWAY, [{}], { deadlineMs: 3000 })
        .finally(() => ended.push('a')),
    );
    const own = reactor.onBehalfOf(new Turn('b'));
    const checked = await own.check(triage('decision := "accept"'), [{}]);
    const compiled = await own.compile(triage('decision := "accept"'));
    const [evaluated] = await own.evaluate(triage('decision := "accept"'), [{}]);
    expect(checked.ok).toBe(true);
    expect(compiled).toBeInstanceOf(Uint8Array);
    expect(evaluated?.result).toEqual({ decision: 'accept' });
    // Six of them take 18 seconds, and were there first.
    expect(ended.length).toBeLessThan(6);
    const settled = Promise.allSettled(ran);
    await reactor.close();
    await settled;
  });
});
