print("waystation")
