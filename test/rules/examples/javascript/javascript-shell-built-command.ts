import { execFileSync, execSync } from 'node:child_process';

const BRANCH = 'main';
const HEADER = /^(\w+): (.*)$/;

export function tag(version: string): void {
  // ruleid: javascript-shell-built-command
  execSync(`git tag v${version}`);
  const command = 'git push origin v' + version;
  // ruleid: javascript-shell-built-command
  execSync(command);
}

export function tagFixed(version: string): void {
  // ok: javascript-shell-built-command
  execFileSync('git', ['tag', `v${version}`]);
  // ok: javascript-shell-built-command
  execSync(`git push origin ${BRANCH}`);
}

export function header(name: string, value: string): unknown {
  // ok: javascript-shell-built-command
  return HEADER.exec(`${name}: ${value}`);
}
