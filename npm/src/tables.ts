/** Tables of the contract, written by web_demo/scripts/make_tables.py from the Python code. */
export const CONTRACT_VERSION = 2;
/** What separates words, the padding as well. */
export const SEPARATORS: ReadonlySet<number> = new Set([0, 9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239, 8287, 12288]);
export const UNSPACED = {"han_piece": {"length": 1, "ranges": [[11904, 12255], [12293, 12295], [12321, 12329], [12344, 12347], [13312, 19903], [19968, 40959], [63744, 64255], [131072, 262143]]}, "kana_piece": {"length": 2, "ranges": [[12337, 12341], [12348, 12348], [12352, 12538], [12540, 12543], [12784, 12799], [65382, 65439], [110576, 110959]]}, "sea_piece": {"length": 3, "ranges": [[3584, 3839], [4096, 4255], [6016, 6143], [6624, 6655], [43488, 43519], [43616, 43647]]}} as const;
