-- One line a question: how often the answer is wrong, and what was asked. All must be 0.
SELECT count(*), 'books are missing' FROM expected WHERE key NOT IN (SELECT isbn FROM final.book);
SELECT count(*), 'books are there that were deleted or never made' FROM final.book
  WHERE isbn NOT IN (SELECT key FROM expected) AND isbn NOT IN (SELECT key FROM passing);
SELECT count(*), 'counters are not the sum of all increments' FROM expected
  JOIN final.book ON isbn = key WHERE timesScanned IS NOT scans;
SELECT count(*), 'confidences are not the greatest one' FROM expected
  JOIN final.book ON isbn = key WHERE book.confidence IS NOT expected.confidence;
WITH shown (key, name, value) AS (
  SELECT isbn, 'title', title FROM final.book
  UNION ALL SELECT isbn, 'rating', CAST(rating AS TEXT) FROM final.book
  UNION ALL SELECT isbn, 'shelf', shelf FROM final.book
), names (name, plural) AS (
  VALUES ('title', 'titles'), ('rating', 'ratings'), ('shelf', 'shelves of books')
)
SELECT count(shown.key), names.plural || ' are not the one that must have won'
FROM names LEFT JOIN shown ON shown.name = names.name
  AND EXISTS (SELECT 1 FROM allowed WHERE allowed.key = shown.key AND allowed.name = shown.name)
  AND NOT EXISTS (SELECT 1 FROM allowed WHERE allowed.key = shown.key
    AND allowed.name = shown.name AND allowed.value IS shown.value)
GROUP BY names.name;
SELECT count(*), 'books that nobody edited differ from the catalogue' FROM origin
  JOIN final.book ON isbn = key
  WHERE book.authors IS NOT origin.authors OR book.isbn13 IS NOT origin.isbn13
    OR book.year IS NOT origin.year OR book.language IS NOT origin.language
    OR book.averageRating IS NOT origin.averageRating OR book.imageURL IS NOT origin.imageURL
    OR (book.title IS NOT origin.title
      AND key NOT IN (SELECT key FROM done WHERE verb = 'retitle'))
    OR (rating IS NOT NULL AND key NOT IN (SELECT key FROM done WHERE verb = 'rate'))
    OR (shelf IS NOT NULL AND key NOT IN (SELECT key FROM done WHERE verb = 'shelve'));
SELECT count(*), 'shelves are missing' FROM (
  SELECT value FROM done WHERE verb = 'shelve' EXCEPT SELECT id FROM final.shelf);
SELECT count(*), 'shelves are there that nobody made' FROM (
  SELECT id FROM final.shelf EXCEPT SELECT value FROM done WHERE verb = 'shelve');
WITH mine AS (
  SELECT key, value, max(n) FROM done WHERE verb = 'thumbnail' AND device = :device GROUP BY key
)
SELECT count(*), 'local thumbnails went astray' FROM final.book LEFT JOIN mine ON key = isbn
  WHERE thumbnailPath IS NOT value;
SELECT (SELECT count(*) FROM final.grdb_tern_main_log) <> (SELECT count(*) FROM server.operation),
  'log and server hold different numbers of operations';
SELECT count(*), 'rows are held aside' FROM final.grdb_tern_main_held;
SELECT count(*), 'foreign keys point nowhere' FROM pragma_foreign_key_check('book', 'final');
SELECT integrity_check <> 'ok', 'the database is damaged: ' || integrity_check
  FROM pragma_integrity_check(10, 'final');
