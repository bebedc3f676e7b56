@rem npm scripts begin with "exec", so that no shell stands between npm and what it has started. cmd.exe has no such word.
@%*
