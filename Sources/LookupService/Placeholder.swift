// LookupService
