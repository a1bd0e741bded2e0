"""Does an exported file compute what it says? Golden texts, the reference, the comparison."""
