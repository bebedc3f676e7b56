// All pages but the first one are loaded together: apart, what they share would be cut into many small files, a tenth
// larger in all. Those that are alike stand side by side, which packs better.
export * from './agent-pages.ts'
export * from './service-pages.ts'
