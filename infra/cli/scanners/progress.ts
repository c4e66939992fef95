import type { EnsuredScanner, EnsureProgress } from './ensure.ts';

interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Without a terminal a line this often says that it is still at work: builds take minutes. */
const QUIET_INTERVAL_MS = 5000;

/** Shows the progress of `ensureScanners`: one live line on a terminal, a line now and then elsewhere. */
export class ProgressView implements Disposable {
  readonly #output: Output;
  readonly #timer: NodeJS.Timeout;
  #current: { readonly label: string; readonly since: number; text: string } | null = null;

  constructor(output: Output) {
    this.#output = output;
    this.#timer = setInterval(() => this.#tick(), output.isTTY === true ? 250 : QUIET_INTERVAL_MS);
    this.#timer.unref();
  }

  readonly show = (event: EnsureProgress): void => {
    if (event.type === 'waiting') {
      this.#line('Another run is installing scanners; waiting for it.');
    } else if (event.type === 'done') {
      this.#current = null;
      // What was there before took no time that would have to be accounted for: the summary names it.
      const { status } = event.outcome;
      if (status === 'installed' || status === 'failed') this.#line(describeOutcome(event.outcome));
    } else {
      this.#step(event);
    }
  };

  #step(event: Extract<EnsureProgress, { type: 'installing' }>): void {
    const label = `${event.scanner} ${event.version}`;
    if (this.#current?.label !== label) {
      this.#current = { label, since: performance.now(), text: event.text };
      if (this.#output.isTTY !== true) this.#line(`${label}: ${event.text}`);
    }
    this.#current.text = event.text;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #tick(): void {
    if (this.#current === null) return;
    const { label, since, text } = this.#current;
    const line = `${label}: ${text} (${Math.round((performance.now() - since) / 1000)} s)`;
    if (this.#output.isTTY !== true) {
      this.#line(line);
      return;
    }
    this.#clear();
    this.#output.write(line.slice(0, (this.#output.columns ?? 80) - 1));
  }

  #line(text: string): void {
    this.#clear();
    this.#output.write(`${text}\n`);
  }

  #clear(): void {
    if (this.#output.isTTY === true) this.#output.write('\r\u001b[K');
  }
}

export function describeOutcome(outcome: EnsuredScanner): string {
  const { scanner } = outcome;
  switch (outcome.status) {
    case 'installed':
      return `✓ ${scanner} ${outcome.version} installed: ${outcome.path}`;
    case 'present':
      return `✓ ${scanner} ${outcome.version} was installed before: ${outcome.path}`;
    case 'on_path':
      return `✓ ${scanner} ${outcome.version} found on PATH: ${outcome.path}`;
    case 'failed':
      return `✗ ${scanner} could not be installed: ${outcome.reason}. ${outcome.advice}`;
  }
}
