// The fonts of the system: the site loads none.
import theme from 'vitepress/theme-without-fonts'

export default theme
