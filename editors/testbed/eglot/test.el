;;; test.el --- the main job in Emacs, through eglot alone  -*- lexical-binding: t -*-

(require 'eglot)
(require 'flymake)

(defvar test-passed 0)
(defvar test-failed 0)
(defvar test-asked nil "What the server asked, newest first.")

(define-derived-mode risor-mode prog-mode "Risor")
(add-to-list 'auto-mode-alist '("\\.risor\\'" . risor-mode))
(add-to-list 'eglot-server-programs '(risor-mode . ("agent-ls" "serve" "--stdio")))
(setq eglot-sync-connect 10
      eglot-autoshutdown nil
      eglot-confirm-server-initiated-edits nil
      create-lockfiles nil
      make-backup-files nil)

(defun test-check (name ok &optional detail)
  (if ok
      (setq test-passed (1+ test-passed))
    (setq test-failed (1+ test-failed)))
  (princ (format "%s %s%s\n" (if ok "ok   " "FAIL ") name (if (or ok (not detail)) "" (format ": %S" detail)))))

(defun test-wait (predicate)
  "Wait until PREDICATE is true, at most 20 s; return its value."
  (let ((deadline (+ (float-time) 20)) value)
    (while (and (not (setq value (funcall predicate))) (< (float-time) deadline))
      (accept-process-output nil 0.02))
    value))

(defun test-file (name)
  (with-temp-buffer
    (insert-file-contents (expand-file-name name (getenv "WORKSPACE")))
    (buffer-string)))

;; The user of this Emacs answers what is asked through window/showMessageRequest.
(defvar test-answer "Allow once")
(dolist (reader '(completing-read read-from-minibuffer))
  (advice-add reader :override
              (lambda (prompt &rest _)
                (push prompt test-asked)
                test-answer)))

;; Not `jsonrpc-request': it throws out of the process filter when its answer comes, and what came in the same
;; piece of output stays unread until there is more.
(defun test-request (method &optional params)
  (let (answer)
    (jsonrpc-async-request (eglot-current-server) method (or params eglot--{})
                           :success-fn (lambda (result) (setq answer (list result)))
                           :error-fn (lambda (err) (setq answer (list err))))
    (car (test-wait (lambda () answer)))))

(defun test-execute (command &rest arguments)
  (test-request :workspace/executeCommand (list :command command :arguments (vconcat arguments))))

(setq project-find-functions (list (lambda (_) (cons 'transient (file-name-as-directory (getenv "WORKSPACE"))))))

(with-current-buffer (find-file-noselect (expand-file-name ".agent-ls/hooks/faulty.risor" (getenv "WORKSPACE")))
  (apply #'eglot (eglot--guess-contact))
  (flymake-mode 1)
  (let ((found (test-wait (lambda ()
                            (flymake-start)
                            (seq-find (lambda (d) (string-match-p "tool_cals" (flymake-diagnostic-text d)))
                                      (flymake-diagnostics))))))
    (test-check "a misspelt field is a diagnostic" found (flymake-diagnostics))
    (test-check "it starts at the field"
                (and found (= (flymake-diagnostic-beg found) (save-excursion (goto-char (point-min)) (search-forward "tool_cals") (match-beginning 0))))))

  (let* ((position (list :line 1 :character 15))
         (completions (jsonrpc-request (eglot-current-server) :textDocument/completion
                                       (list :textDocument (eglot--TextDocumentIdentifier) :position position)))
         (items (append (if (vectorp completions) completions (plist-get completions :items)) nil)))
    (test-check "fields of ctx are completed"
                (seq-find (lambda (i) (equal (plist-get i :label) "tool_calls")) items) items))

  (let ((started (test-execute "agent.run" "make Add add")))
    (test-check "agent.run gives a run" (stringp (plist-get started :runId)) started)
    (test-check "the approved edit is made"
                (test-wait (lambda () (string-match-p "a \\+ b" (test-file "calc.go")))) (test-file "calc.go"))
    (test-check "the question showed the change"
                (seq-find (lambda (q) (and (stringp q) (string-match-p "calc.go" q) (string-match-p "a \\+ b" q))) test-asked)
                test-asked)
    (test-check "the run ends"
                (test-wait (lambda ()
                             (let* ((found (test-request :agent/sessions))
                                    (newest (aref (plist-get found :sessions) 0)))
                               (equal (plist-get newest :status) "done")))))
    (test-execute "agent.undo" (plist-get started :runId))
    (test-check "agent.undo puts it back"
                (test-wait (lambda () (string-match-p "a - b" (test-file "calc.go")))) (test-file "calc.go")))

  (setq test-answer "Deny" test-asked nil)
  (test-execute "agent.run" "make Add add")
  (test-check "a denial is asked for" (test-wait (lambda () test-asked)))
  (test-check "and leaves the file as it was" (string-match-p "a - b" (test-file "calc.go")) (test-file "calc.go"))
  (ignore-errors (eglot-shutdown (eglot-current-server) nil 5)))

(princ (format "%d passed, %d failed\n" test-passed test-failed))
(kill-emacs (if (and (= test-failed 0) (> test-passed 0)) 0 1))
;;; test.el ends here
