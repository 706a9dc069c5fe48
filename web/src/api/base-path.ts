/** The path of this page, such as `/app/`, or `/backup/app/` where a proxy publishes the server below `/backup`. */
export const pagePath = document.documentElement.dataset.page ?? '/app/';

/** What precedes every path of the server: `/backup`, or usually nothing. */
export const basePath = pagePath.replace(/\/app\/$/, '');
