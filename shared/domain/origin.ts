import { createHash } from 'node:crypto';
import { SCANNERS, type Scanner } from './vocabulary.ts';

/**
 * Whose report it is: a scanner's own, or a foreign tool's that was imported in the scanner's place. Each says
 * for itself what is there and what is gone, so that what one of them last reported is kept by origin.
 */
export type Origin = Scanner | `${Scanner}~${string}`;

/** @param tool the driver's name; null for the scanner itself */
export function originOf(scanner: Scanner, tool: string | null): Origin {
  if (tool === null) return scanner;
  return `${scanner}~${createHash('sha256').update(toolKey(tool)).digest('hex').slice(0, 12)}`;
}

/** The scanner that an origin is, or in whose place it is; undefined where the text is no origin. */
export function scannerOf(origin: string): Scanner | undefined {
  return SCANNERS.find((scanner) => origin === scanner || origin.startsWith(`${scanner}~`));
}

export function isOrigin(text: string): text is Origin {
  return scannerOf(text) !== undefined;
}

/** Names a tool whatever its version and spelling: `PMD 7.1.0` and `pmd` are one. */
export function toolKey(tool: string): string {
  const plain = tool
    .toLowerCase()
    .replace(/ v?\d[\w.+-]*$/, '')
    .trim();
  return plain === '' ? tool.toLowerCase() : plain;
}
