/** What draws charts is as large as half of all pages. */
export const loadPlot = () => import('uplot')
