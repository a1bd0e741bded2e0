"""Is an exported file what it says? Golden texts, the reference, the comparison."""
