/** Figures about the calls of a session. */
import type { Stats } from './diff';

/** Milliseconds, without the time for which a person thought. */
export interface Latency {
  n: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

export interface EditStats {
  applied: number;
  modified_by_user: number;
  undone: number;
  share_modified: number;
  share_undone: number;
}

export interface StatsResult {
  session_id: string | null;
  since: number;
  calls: Record<string, number>;
  outcomes: Record<string, number>;
  matches: Record<string, number>;
  lines: Stats;
  edits: EditStats;
  latency_ms: Record<string, Latency>;
}
