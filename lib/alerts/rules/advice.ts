/** How to start a run. Which sources and options it needs, only whoever set it up knows. */
export const START_A_RUN = 'start a run as you usually do (`npm run worker -- run …`)';
