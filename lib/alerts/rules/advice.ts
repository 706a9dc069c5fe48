/** How to start a run. Only the person who set it up knows which sources and options it needs. */
export const START_A_RUN = 'start a run as you usually do (`npm run worker -- run …`)';
