print("veilring")
