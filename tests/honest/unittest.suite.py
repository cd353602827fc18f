import unittest

import solution


class TextTest(unittest.TestCase):
    def setUp(self):
        self.text = "The cat saw the other cat's hat."

    def test_words(self):
        self.assertEqual(solution.words("Don't stop"), ["don't", "stop"])

    def test_longest(self):
        self.assertEqual(solution.longest(self.text), "other")
        self.assertEqual(solution.longest("1 2"), "")

    def test_frequencies(self):
        self.assertEqual(solution.frequencies("a b a"), {"a": 2, "b": 1})
        self.assertEqual(solution.frequencies(self.text, least=2), {"the": 2})
