// CallerDirectoryTests
