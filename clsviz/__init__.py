"""Does an encoder write the length of a sentence into its [CLS] vector?"""
