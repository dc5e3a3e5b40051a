def draw(records, folder):
    pass
