import type { FindingCategory, Scanner, Severity } from '#domain/vocabulary.ts';

/**
 * One result of a scanner's report in the product's own terms: what every parser answers,
 * and all that ingest knows of the scanner. Nothing in it depends on who asks or when, so
 * the same report gives the same results, in the same order, on every replay.
 */
export interface ReportedFinding {
  readonly scanner: Scanner;
  /** Driver of a SARIF report that another tool than the scanner wrote. */
  readonly tool?: string | null | undefined;
  /** Rule, check or advisory as the scanner names it, free of the folders of its configuration. */
  readonly rule_id: string;
  readonly title: string;
  readonly description: string;
  readonly severity: Severity;
  readonly category: FindingCategory;
  /** `CVE-YYYY-N…`, or null. */
  readonly cve_id: string | null;
  /** `CWE-N`, ascending, without repetition. */
  readonly cwe: readonly string[];
  /** 0 to 10. */
  readonly cvss_score: number | null;
  /** 0 to 1. */
  readonly epss_score: number | null;
  /** 0 to 1. */
  readonly epss_percentile: number | null;
  readonly kev: boolean;
  readonly package: ReportedPackage | null;
  readonly location: ReportedLocation;
  /** What to do about it in one sentence; null where the scanner does not say. */
  readonly fix: string | null;
  /**
   * What makes it the same finding in the next scan: lower-case hex, SHA-256 of the parts that
   * design names (no severity, no message, no line number).
   */
  readonly fingerprint: string;
}

export interface ReportedPackage {
  readonly name: string;
  readonly version: string;
  readonly fixed_version: string | null;
  readonly purl: string | null;
}

/** Path relative to the repository's root, with `/`; lines count from 1 and are null where unknown. */
export interface ReportedLocation {
  readonly path: string;
  readonly start_line: number | null;
  readonly end_line: number | null;
}
