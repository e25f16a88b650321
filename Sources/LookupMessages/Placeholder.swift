// LookupMessages
