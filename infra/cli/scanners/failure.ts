import type { ProcessOutcome } from '#functions/scanner-runner/process.ts';

/** Why a scanner could not be installed, and what the person can do about it. */
export class InstallError extends Error {
  override readonly name = 'InstallError';
  readonly advice: string;

  constructor(reason: string, advice: string) {
    super(reason);
    this.advice = advice;
  }
}

const UNREACHABLE =
  /no such host|name resolution|Name or service not known|connection refused|Connection refused|i\/o timeout|Max retries|NewConnectionError|network is unreachable|TLS handshake|proxyconnect|timed out/i;

/** In the words of what the clients print; what is not recognised is quoted by its last lines. */
export function explainInstallFailure(what: string, file: string, outcome: ProcessOutcome): InstallError {
  const output = `${outcome.stdout}\n${outcome.stderr}`;
  const python = file.endsWith('python3');
  if (outcome.startError === 'ENOENT') {
    return python
      ? new InstallError(
          'python3 was not found',
          'Install Python 3.10 or newer (with venv) and run this again.',
        )
      : new InstallError('Go was not found', 'Install Go and run this again, or put the scanner on PATH.');
  }
  if (outcome.startError !== null)
    return new InstallError(
      `${file} could not be started (${outcome.startError})`,
      'Check that it can be run.',
    );
  if (/No module named '?(?:venv|ensurepip)/.test(output)) {
    return new InstallError(
      'this python3 has no venv',
      'Install it (Debian, Ubuntu: `apt install python3-venv`).',
    );
  }
  if (/requires go >= ?([\d.]+)/.test(output)) {
    const needed = /requires go >= ?([\d.]+)/.exec(output)?.[1] ?? '';
    return new InstallError(
      `it needs Go ${needed} or newer`,
      'Install a newer Go, or set GOTOOLCHAIN=auto to let Go fetch one.',
    );
  }
  if (UNREACHABLE.test(output)) {
    return python
      ? new InstallError(
          'the Python package index could not be reached',
          'Check the network, or set PIP_INDEX_URL to an index that can be.',
        )
      : new InstallError(
          'the Go module proxy could not be reached',
          'Check the network, or set GOPROXY to a proxy that can be.',
        );
  }
  if (/no space left|No space left/.test(output))
    return new InstallError('the disk is full', 'Make room and run this again: it goes on from there.');
  if (outcome.endedBy === 'SIGKILL')
    return new InstallError(
      'it was killed',
      'The machine may be out of memory: the build of Trivy needs about 4 GB.',
    );
  return new InstallError(
    `${what} could not be installed (exit code ${outcome.exitCode}): ${lastLines(output)}`,
    'See above; run it again once that is solved.',
  );
}

function lastLines(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  // Addresses of private indexes can hold credentials.
  return lines
    .slice(-4)
    .join(' / ')
    .replace(/\/\/[^/@\s]*@/g, '//')
    .slice(-600);
}
