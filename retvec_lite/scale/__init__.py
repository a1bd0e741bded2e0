"""Files of any size on one machine, and the function that Ray, Spark and Dask map over batches."""
