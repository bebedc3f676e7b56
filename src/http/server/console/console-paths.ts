/** The paths that the console adds, besides its own pages. */
export const CONSOLE_PATHS = [
  { method: 'GET', path: '/console/assets/{file}' },
  ...['POST', 'GET', 'DELETE'].map((method) => ({ method, path: '/console/session' })),
]
