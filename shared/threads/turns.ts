import { ServiceError } from '#domain/errors.ts';

/** Who wants turns. */
export class Turn {
  /** Turns of one owner (an organization's id) come one after the other; owners alternate. */
  readonly owner: string;
  /** Of `performance.now()`: what has not begun by then is refused. */
  readonly beginBy: number;
  /** Milliseconds that were spent with waiting so far, the start of resources included. */
  waitedMs = 0;

  constructor(owner: string, beginBy = Number.POSITIVE_INFINITY) {
    this.owner = owner;
    this.beginBy = beginBy;
  }
}

/** What turns are of. */
interface Startable {
  /** Resolves where it can be worked with, at once where it could before. */
  start(): Promise<void>;
  close(): Promise<void>;
}

interface Waiting<Resource> {
  readonly turn: Turn;
  readonly since: number;
  readonly begin: (resource: Resource) => Promise<void>;
  readonly refuse: (error: Error) => void;
  readonly timer: NodeJS.Timeout | null;
}

/** Turns that one owner may wait for: more is not use, but a flood. */
const MAX_WAITING = 64;
/** Milliseconds after which one that waits for other owners gets a resource of its own. */
const COMPANY_AFTER_MS = 200;
/** Milliseconds of work in one turn that make an owner slow, and for how long it stays so. */
const SLOW_MS = 1000;
const SLOW_FOR_MS = 60_000;
/** Milliseconds without work after which such a resource is closed again. */
const CLOSE_AFTER_MS = 30_000;

/**
 * Shares out resources, so that no owner's long work keeps others waiting for long. There is one to begin with;
 * more only while owners wait for each other. Each owner has one at a time. Owners whose work took long a while ago
 * come after those whose did not, and never have all resources.
 */
export class Turns<Resource extends Startable> {
  readonly #create: () => Resource;
  readonly #most: number;
  /** The owner whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiting<Resource>[]>();
  readonly #served = new Set<string>();
  /** When an owner's work took long, as `performance.now()`. */
  readonly #slow = new Map<string, number>();
  readonly #all = new Set<Resource>();
  readonly #idle = new Map<Resource, NodeJS.Timeout>();
  readonly #name: string;
  #company: NodeJS.Timeout | null = null;
  #closed = false;

  /**
   * @param most resources at the same time
   * @param name what they are parts of, as people know it
   */
  constructor(create: () => Resource, most: number, name = 'The policy engine') {
    this.#create = create;
    this.#most = most;
    this.#name = name;
  }

  /**
   * Does the work where its owner's turn has come.
   * @throws ServiceError service_unavailable where it waited too long, or too many of its owner's wait
   */
  take<T>(turn: Turn, work: (resource: Resource) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(this.#wasClosed());
    const queue = this.#waiting.get(turn.owner) ?? [];
    if (queue.length >= MAX_WAITING) return Promise.reject(this.#busy());
    return new Promise((resolve, refuse) => {
      const waiting: Waiting<Resource> = {
        turn,
        since: performance.now(),
        begin: (resource) => work(resource).then(resolve, refuse),
        refuse,
        timer: turn.beginBy === Number.POSITIVE_INFINITY ? null : this.#refuseAt(turn.beginBy, () => waiting),
      };
      queue.push(waiting);
      this.#waiting.set(turn.owner, queue);
      this.#dispatch();
    });
  }

  /** Refuses who waits, and closes all resources, whatever they do. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#company) clearTimeout(this.#company);
    for (const timer of this.#idle.values()) clearTimeout(timer);
    for (const queue of this.#waiting.values())
      for (const waiting of queue) {
        if (waiting.timer) clearTimeout(waiting.timer);
        waiting.refuse(this.#wasClosed());
      }
    this.#waiting.clear();
    await Promise.all(Array.from(this.#all, (resource) => resource.close()));
  }

  #dispatch(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      const resource = this.#resource();
      if (!resource) {
        this.#wantCompany();
        return;
      }
      this.#remove(next);
      void this.#serve(next, resource);
    }
  }

  #next(): Waiting<Resource> | null {
    const free = this.#waiting.entries().filter(([owner]) => !this.#served.has(owner));
    const firsts = [...free].flatMap(([, [first]]) => (first ? [first] : []));
    const quick = firsts.find(({ turn }) => !this.#isSlow(turn.owner));
    if (quick) return quick;
    const slowAtWork = [...this.#served].filter((owner) => this.#isSlow(owner)).length;
    return slowAtWork < Math.max(1, this.#most - 1) ? (firsts[0] ?? null) : null;
  }

  #isSlow(owner: string): boolean {
    const since = this.#slow.get(owner);
    if (since === undefined || performance.now() - since < SLOW_FOR_MS) return since !== undefined;
    this.#slow.delete(owner);
    return false;
  }

  #resource(): Resource | null {
    for (const [resource, timer] of this.#idle) {
      clearTimeout(timer);
      this.#idle.delete(resource);
      return resource;
    }
    return this.#all.size === 0 ? this.#add() : null;
  }

  #add(): Resource {
    const resource = this.#create();
    this.#all.add(resource);
    return resource;
  }

  async #serve(waiting: Waiting<Resource>, resource: Resource): Promise<void> {
    const { owner } = waiting.turn;
    this.#served.add(owner);
    try {
      await resource.start();
      const began = performance.now();
      waiting.turn.waitedMs += began - waiting.since;
      await waiting.begin(resource);
      if (performance.now() - began > SLOW_MS) this.#slow.set(owner, performance.now());
    } catch (error) {
      waiting.refuse(error instanceof Error ? error : new Error(String(error)));
    }
    this.#served.delete(owner);
    this.#toEnd(owner);
    if (this.#closed) return;
    this.#rest(resource);
    this.#dispatch();
  }

  #rest(resource: Resource): void {
    const timer = setTimeout(() => {
      if (this.#all.size === 1) return;
      this.#idle.delete(resource);
      this.#all.delete(resource);
      void resource.close();
    }, CLOSE_AFTER_MS);
    this.#idle.set(resource, timer.unref());
  }

  #wantCompany(): void {
    if (this.#company || this.#all.size >= this.#most) return;
    this.#company = setTimeout(() => {
      this.#company = null;
      if (this.#next() && this.#idle.size === 0) this.#rest(this.#add());
      this.#dispatch();
    }, COMPANY_AFTER_MS);
  }

  #refuseAt(time: number, late: () => Waiting<Resource>): NodeJS.Timeout {
    return setTimeout(
      () => {
        const waiting = late();
        this.#remove(waiting);
        waiting.refuse(this.#busy());
      },
      Math.max(0, time - performance.now()),
    );
  }

  #remove(waiting: Waiting<Resource>): void {
    const queue = this.#waiting.get(waiting.turn.owner);
    queue?.splice(queue.indexOf(waiting), 1);
    if (queue?.length === 0) this.#waiting.delete(waiting.turn.owner);
    if (waiting.timer) clearTimeout(waiting.timer);
  }

  /** Who was served comes after all others that wait. */
  #toEnd(owner: string): void {
    const queue = this.#waiting.get(owner);
    if (!queue) return;
    this.#waiting.delete(owner);
    this.#waiting.set(owner, queue);
  }

  #wasClosed(): Error {
    return new Error(`${this.#name} was closed`);
  }

  #busy(): ServiceError {
    return new ServiceError('service_unavailable', `${this.#name} is busy; retry after 30 seconds`, {
      retryAfter: 30,
    });
  }
}
