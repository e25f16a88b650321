// CallerDirectory
