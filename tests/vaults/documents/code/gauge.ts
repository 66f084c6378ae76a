import { ceil } from "./math";

export interface Reading {
  level: number;
}

// Rounded up, for safety.
export function rounded(level: number): number {
  return ceil(level);
}

export const worst = (all: Reading[]): number => {
  const levels = all.map((one) => one.level);
  return Math.max(...levels); // the last line of typescript
};
